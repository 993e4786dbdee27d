"""What the benchmark scripts share. Standard library only."""
