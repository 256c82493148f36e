"""Security of stored texts: masks secrets, and marks text that reads like instructions."""
