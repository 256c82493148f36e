"""What an administrator asks: doctor and audit."""
