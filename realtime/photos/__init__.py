"""Source photos as people have them: any format, turned, grey, transparent, huge; with several faces, or a poor one."""
