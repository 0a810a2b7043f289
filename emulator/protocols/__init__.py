"""The protocols, a folder for each system, without any input or output.

`gossip` has peer sampling and topologies by gossip, `overlays` structured and unstructured overlays,
`pubsub` publish/subscribe systems, `broadcast` protocols that bring messages to all peers, `membership`
members that know who of them is up, `values` stores of values by key. All ask the world through
`emulator.contract.protocol` alone.
"""
