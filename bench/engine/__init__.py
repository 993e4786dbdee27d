"""The rows of `script/bench engine`: one module each, with TITLE, METHOD (how it is measured) and measure(setting)."""
