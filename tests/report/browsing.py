"""A headless Chromium for tests of pages, and what they measure in it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
VIEWS = [
    pytest.param((width, height, scheme), id=f"{width}x{height}-{scheme}")
    for width, height in ((390, 844), (1280, 900))
    for scheme in ("light", "dark")
]

# Every element that holds text of its own, with its colour and the one painted behind it.
TEXTS = """
const seen = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  let behind = element;
  while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)')
    behind = behind.parentElement;
  seen.push([walker.currentNode.textContent.trim().slice(0, 40),
             element instanceof SVGElement ? style.fill : style.color,
             getComputedStyle(behind).backgroundColor]);
}
return seen;
"""
BOXES = """
return [...document.querySelectorAll(arguments[0])].map(element => {
  const box = element.getBoundingClientRect();
  return [box.left, box.right, box.width, box.height];
});
"""


def service(chromedriver: str) -> Service:
    """The driver on a port of this process's own, of those that the system gives to nobody.

    Selenium's own choice is free when it is looked up, and may not be when it is taken.
    """
    return Service(executable_path=chromedriver, port=10_000 + os.getpid() % 20_000)


@dataclass
class Browser:
    """A headless Chromium that remembers what its pages asked for."""

    driver: webdriver.Chrome
    width: int = 0

    def open(self, page: Path, width: int, height: int, scheme: str) -> None:
        self.width = width
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)  # empties it
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        self.driver.get(page.as_uri())

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def requests(self) -> list[str]:
        messages = (json.loads(e["message"])["message"] for e in self.driver.get_log("performance"))
        return [
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        ]


def fits(browser: Browser) -> bool:
    """Whether the page has no horizontal scroll (a phone's innerWidth grows with the page)."""
    return browser.run("return document.documentElement.scrollWidth") <= browser.width


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2, of "rgb(r, g, b)"."""
    assert colour.startswith("rgb("), colour
    values = np.array([float(v) for v in colour[4:-1].split(",")]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
