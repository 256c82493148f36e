"""What keeps memories tidy over time: consolidation, compaction, decay, history."""
