"""The stages of a call, each wrapping the next: `async handler(call) -> answer`."""
