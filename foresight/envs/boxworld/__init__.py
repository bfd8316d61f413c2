"""Boxworld: keys, locks and a gem."""
