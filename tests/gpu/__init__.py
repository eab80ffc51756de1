"""Device code without a device: PTX is assembled, and executed by an interpreter."""
