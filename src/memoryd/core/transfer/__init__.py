"""How data gets from one place to another: exports, imports, migrations, foreign formats."""
