"""Sokoban levels as data: text, packed sets, operations, generation."""
