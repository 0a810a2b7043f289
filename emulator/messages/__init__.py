"""Messages of protocols: plain classes, generated from `.proto` files, that become bytes only at the wire."""
