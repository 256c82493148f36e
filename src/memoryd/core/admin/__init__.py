"""Administration: doctor and audit."""
