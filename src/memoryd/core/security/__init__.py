"""What is kept out of memories and marked in them: secrets, and text that reads like instructions."""
