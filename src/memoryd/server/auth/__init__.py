"""The authorization server: clients get tokens for what a person grants them in a browser (OAuth 2.1)."""
