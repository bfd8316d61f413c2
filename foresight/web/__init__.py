"""A page to watch an agent think, play its levels and change its mind, served from this machine (extra `web`)."""
