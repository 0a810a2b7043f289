"""Measures of trials, and the series and distributions that figures show.

`measure_run` asks the tables for all measures, which each file defines with their queries: `event_delivery`,
`by_topic`, `by_content`, `of_lookups`, `of_kademlia`, `of_gossipsub` and `every_trial`. `catalogue` lists
them, `series` and `distributions` make tables for figures, and `variant_results` takes means over seeds.
"""
