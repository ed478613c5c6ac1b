// report: what an HTML report does for its reader: filter rows by typing, and show times in the reader's zone. In: the document. Out: rows
// hidden or shown. It asks nobody for anything; without it everything is shown, in UTC.
(() => {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  const localTimes = (root) => {
    for (const time of root.querySelectorAll('time[datetime]:not([data-local])')) {
      if (time.closest('details:not([open])')) continue; // when it is opened
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      time.dataset.local = '';
      if (time.dataset.ago !== undefined) {
        time.title = `${format.format(at)} (${time.title})`;
        continue;
      }
      time.textContent = format.format(at);
      nameZone();
    }
  };
  /** As the server writes it: see `agoText`. */
  const agoOf = (at) => {
    const minutes = Math.floor(Math.abs(Date.now() - at) / 60_000);
    const hours = Math.floor(minutes / 60);
    const isLater = at > Date.now();
    if (minutes === 0) return isLater ? 'in a moment' : 'just now';
    const text = hours === 0 ? `${minutes} min` : hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
    return isLater ? `in ${text}` : `${text} ago`;
  };
  setInterval(() => {
    for (const time of document.querySelectorAll('time[data-ago]')) time.textContent = agoOf(Date.parse(time.dateTime));
  }, 30_000);
  // Said once: each time by itself names no zone.
  const nameZone = () => {
    const main = document.querySelector('main');
    const { timeZone } = format.resolvedOptions();
    if (!main || timeZone === 'UTC' || document.getElementById('zone')) return;
    const line = document.createElement('p');
    line.id = 'zone';
    line.className = 'quiet';
    line.textContent = `Times are in the zone of this browser, ${timeZone}. Point at one to see it in UTC.`;
    main.append(line);
  };
  const texts = new WeakMap();
  const textOf = (row) => {
    let text = texts.get(row);
    if (text === undefined) {
      text = row.textContent.toLowerCase();
      texts.set(row, text);
    }
    return text;
  };
  const filter = (input) => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const scope = document.getElementById(input.dataset.filter) ?? document;
    let shown = 0;
    let all = 0;
    for (const row of scope.querySelectorAll('tr[data-row]')) {
      const text = textOf(row);
      const isShown = words.every((word) => text.includes(word));
      if (row.hidden === isShown) row.hidden = !isShown;
      all += 1;
      if (isShown) shown += 1;
    }
    for (const group of scope.querySelectorAll('details[data-group]')) {
      const isEmpty = words.length > 0 && group.querySelector('tr[data-row]:not([hidden])') === null;
      if (group.hidden !== isEmpty) group.hidden = isEmpty;
      if (words.length > 0 && !isEmpty) group.open = true;
    }
    const count = document.getElementById(input.getAttribute('aria-describedby') ?? '');
    if (count) count.textContent = words.length === 0 ? '' : `${shown} of ${all} rows`;
  };
  const begin = (root) => {
    localTimes(root);
    for (const input of root.querySelectorAll('input[data-filter]')) {
      input.hidden = false;
      const scope = document.getElementById(input.dataset.filter) ?? document;
      const hasRows = scope.querySelector('tr[data-row]') !== null;
      if (hasRows) input.closest('.tools')?.removeAttribute('hidden');
      input.addEventListener('input', () => filter(input));
      if (input.value !== '') filter(input);
    }
  };
  begin(document);
  document.addEventListener('toggle', (event) => localTimes(event.target), true);
  document.addEventListener('htmx:load', (event) => {
    begin(event.target);
    // A part that was read again is narrowed as before.
    for (const input of document.querySelectorAll('input[data-filter]')) if (input.value !== '') filter(input);
  });
})();
