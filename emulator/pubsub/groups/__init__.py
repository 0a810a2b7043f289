"""Multicast groups by clustering event cells (Riabov, Liu, Wolf, Yu, Zhang, ICDCS 2002): a static baseline."""
