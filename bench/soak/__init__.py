"""The parts of `script/bench soak`: models, what is asked of them, clients, the destroyer, and what is held at the end."""
