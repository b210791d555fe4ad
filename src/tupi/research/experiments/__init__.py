"""The paper's tables and figures, each one file with a frozen configuration, by one protocol.

`sources` says how each dataset is used, `protocol` how a trial is made of it, `store` keeps what is finished, `runner`
works through what is not, and `results` writes the page. Everything else is one table or figure.
"""
