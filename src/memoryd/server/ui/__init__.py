"""The page: people see, search, correct and undo what their agents remember."""
