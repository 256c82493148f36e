"""The maintenance of memories over time: consolidation, compaction, decay, history."""
