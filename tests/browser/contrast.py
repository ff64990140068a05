"""How far every word of a page stands out from what is behind it, by the rule of WCAG 2."""

# returns the elements with a contrast below 4.5
CONTRASTS = """() => {
  const luminance = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  // what shines through is mixed with what is below it
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const [r, g, b, a = 1] = numbers(getComputedStyle(element).backgroundColor);
    const below = a < 1 ? behind(element.parentElement) : [0, 0, 0];
    return [r, g, b].map((c, i) => a * c + (1 - a) * below[i]);
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || element.closest("script") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [luminance(numbers(colour)), luminance(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) poor.push([element.tagName, element.textContent.slice(0, 30), contrast]);
  }
  return poor;
}"""
