"""What the memory objects of several frameworks have in common; knows none of the frameworks."""
