"""What several runs come to: curves, comparisons, counts, figures."""
