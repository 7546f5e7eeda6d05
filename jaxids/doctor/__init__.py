"""What a machine makes of jaxids: what is there, whether every way to run agrees, and how fast each is."""
