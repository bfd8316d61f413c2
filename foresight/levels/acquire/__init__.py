"""Levels from elsewhere: text files, folders, archives and the published sets, read without trusting any of them."""
