"""Transfer of data: exports, imports, migrations, foreign formats."""
