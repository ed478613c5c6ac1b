// The search of the guide. In: what is typed, and search.json, which is loaded with the first letter. Out: links to sections that have every word.
(() => {
  const { up } = document.currentScript.dataset;
  const SHOWN = 12;
  const form = document.getElementById('search');
  const find = document.getElementById('find');
  const found = document.getElementById('found');
  let loading;

  const load = () => {
    loading ??= fetch(`${up}/search.json`).then((answer) => (answer.ok ? answer.json() : Promise.reject(answer.status)));
    return loading;
  };

  /** A word counts most in a heading, then in the title of its page. */
  const rank = ([, page, heading, text], words) => {
    const places = [heading, page, text].map((one) => one.toLowerCase());
    let sum = 0;
    for (const word of words) {
      const at = places.findIndex((place) => place.includes(word));
      if (at < 0) return 0;
      sum += [100, 30, 1][at];
    }
    return sum;
  };

  const around = (text, word) => {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
    return `${at > 0 ? '… ' : ''}${text.slice(at, at + 180)}${text.length > at + 180 ? ' …' : ''}`;
  };

  const shown = ([address, page, heading, text], words) => {
    const entry = document.createElement('p');
    const link = document.createElement('a');
    link.href = `${up}/${address}`;
    link.textContent = heading;
    const small = document.createElement('small');
    small.textContent = heading === page ? around(text, words[0]) : `${page}: ${around(text, words[0])}`;
    entry.append(link, document.createElement('br'), small);
    return entry;
  };

  const look = async () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return found.replaceChildren();
    const sections = await load().catch(() => undefined);
    if (sections === undefined) {
      loading = undefined;
      found.textContent = 'The search could not be loaded. All pages are in the list.';
      return;
    }
    const best = sections
      .map((section) => ({ section, sum: rank(section, words) }))
      .filter(({ sum }) => sum > 0)
      .sort((one, other) => other.sum - one.sum);
    if (best.length === 0) found.textContent = `Nothing is found for “${find.value}”.`;
    else found.replaceChildren(...best.slice(0, SHOWN).map(({ section }) => shown(section, words)));
  };

  form.hidden = false;
  find.addEventListener('input', look);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    found.querySelector('a')?.click();
  });
})();
