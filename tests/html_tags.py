"""What is in an HTML page, as a browser would take it apart."""

from __future__ import annotations

from html.parser import HTMLParser


class Tags(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
