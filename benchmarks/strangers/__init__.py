"""Sites nobody tuned undust to: composed by seed from models of the web's software, with exact truth.

Every section is a small server: a function from a URL to what it shows. So the truth is computed and not
assumed, for whatever spelling of a URL the crawl comes upon.
"""
