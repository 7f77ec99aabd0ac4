"""One service's wire format each: call to request, response to answer."""
