// What is wrong with the layout of the page that is shown, as a list of sentences. An expression: page-check evaluates it.
(() => {
  const wrong = [];
  const say = (what, element, more = "") => {
    if (wrong.length < 40) wrong.push(`${what}: <${element.tagName} ${element.getAttribute("class") ?? ""}> ${
      JSON.stringify(element.textContent.trim().slice(0, 60))} ${more}`);
  };
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the page is ${root.scrollWidth} px wide, the window ${innerWidth}`);

  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const luminance = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.a > 0) return color;
    }
    return parse(getComputedStyle(document.body).backgroundColor);
  };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const element = text.parentElement;
    if (!text.data.trim() || element.closest("script, style, noscript, title, desc")) continue;
    const style = getComputedStyle(element);
    const range = document.createRange();
    range.selectNodeContents(text);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
    if (!boxes.length || style.visibility === "hidden") continue;
    seen++;
    const size = parseFloat(style.fontSize);
    if (size < 12) say(`text of ${size} px`, element);
    for (const box of boxes) {
      if (box.left < -0.5 || box.right > innerWidth + 0.5) say("beyond the window", element, `${box.left}–${box.right}`);
    }
    // Cut off by something around it, or over its own cell.
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const around = getComputedStyle(at);
      if (around.overflowX !== "visible" && at.scrollWidth > at.clientWidth + 1 && at.tagName !== "INPUT") say("cut off", at);
      if (at.matches("td, th, dd, li, h1, h2, h3, p, dt, b")) {
        const box = at.getBoundingClientRect();
        const over = boxes.find((b) => b.right > box.right + 1 || b.left < box.left - 1);
        if (over && around.display !== "inline") say("wider than its box", at, `${over.right} > ${box.right}`);
        break;
      }
    }
    // A number that stands alone is on one line.
    for (const found of text.data.matchAll(/(?<=^|\s)[\d\u00a0.,]*\d[\d\u00a0.,]*(%|\u00a0[KMGTPE]?i?B)?(?=[\s,;:]|$)/g)) {
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      const tops = new Set([...range.getClientRects()].filter((b) => b.width > 0).map((b) => Math.round(b.top)));
      if (tops.size > 1) say("a number on two lines", element, found[0]);
    }
    // Nor is a word of usual length broken where a table has its columns side by side.
    if (innerWidth >= 960 && element.closest("td, th")) {
      for (const found of text.data.matchAll(/(?<=^|\s)\p{L}{2,12}(?=$|\s)/gu)) {
        range.setStart(text, found.index);
        range.setEnd(text, found.index + found[0].length);
        const tops = new Set([...range.getClientRects()].filter((b) => b.width > 0).map((b) => Math.round(b.top)));
        if (tops.size > 1) say("a word on two lines", element, found[0]);
      }
    }
    const isSvg = element instanceof SVGElement;
    const front = parse(isSvg ? style.fill : style.color);
    const [light, dark] = [luminance(front), luminance(behind(element))].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (isLarge ? 3 : 4.5)) say(`contrast ${contrast.toFixed(2)}`, element);
  }
  if (seen < 10) wrong.push(`only ${seen} texts are shown`);
  return wrong;
})()
