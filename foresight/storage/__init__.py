"""Files written whole, pytrees as safetensors, one cache folder."""
