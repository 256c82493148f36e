"""Transfer of data: exports, imports of them, migrations."""
