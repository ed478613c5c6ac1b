// web: what a page does when JavaScript is on: keys, live parts, questions before what cannot be taken back. In: the document and the
// stream of the endpoint. Out: events on the body (`live-run`, `live-plan`, …) that htmx answers by reading a part again. Every page works without it.
(() => {
  const { body } = document;
  /** A stream that is cut comes back by itself within seconds. */
  const LOST_AFTER_MS = 10_000;

  // Live: one stream a page. The part of an audit kind before the dot names the event.
  const families = (body.dataset.live ?? '').split(' ').filter(Boolean);
  if (families.length > 0 && 'EventSource' in window) {
    // From where the page was read: what happened before the stream is open is not missed.
    const { liveAfter } = body.dataset;
    const after = liveAfter === undefined ? '' : `&after=${liveAfter}`;
    const stream = new EventSource(`${body.dataset.stream}?kind=${families.join(',')}${after}`);
    const tell = (family) => htmx.trigger(body, `live-${family}`);
    for (const family of families) stream.addEventListener(family, () => tell(family));
    stream.addEventListener('progress', (event) => showProgress(event.data));
    stream.addEventListener('reset', () => families.forEach(tell));
    addEventListener('pagehide', () => stream.close());
    let lost;
    stream.addEventListener('error', () => {
      const since = new Date();
      lost ??= setTimeout(() => showLost(since), LOST_AFTER_MS);
    });
    stream.addEventListener('open', () => {
      clearTimeout(lost);
      lost = undefined;
      document.getElementById('lost')?.remove();
    });
  }
  /** Whatever was well then may not be now. */
  function showLost(since) {
    const line = document.createElement('div');
    line.id = 'lost';
    line.className = 'notice bad';
    line.role = 'alert';
    const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }).format(since);
    line.textContent = `This page has had no news from Trustward since ${time}: what it shows may be old. Load it again.`;
    document.querySelector('main').prepend(line);
  }
  function showProgress(data) {
    const place = document.getElementById('progress');
    if (!place) return;
    const { phase, what, done, total, trial } = JSON.parse(data);
    // A trial is shown to who tries this rule, and not as if a run were under way.
    if (trial !== undefined && trial !== place.dataset.trial) return;
    const count = done === undefined ? '' : ` ${done}${total === undefined ? '' : ` of ${total}`}`;
    place.textContent = `${phase}${what === undefined ? '' : ` ${spelled(what)}`}${count}`;
  }
  /** Hidden characters of a name, as pages spell them. */
  function spelled(text) {
    const code = (found) => found.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    return text.replace(/(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/gu, (found) => `⟨U+${code(found)}⟩`);
  }

  // Keys.
  const keys = document.getElementById('keys');
  let at = -1;
  const rows = () => [...document.querySelectorAll('main [data-row]')].filter((row) => row.offsetParent !== null);
  const move = (by) => {
    const all = rows();
    if (all.length === 0) return;
    at = Math.max(0, Math.min(all.length - 1, at + by));
    for (const row of document.querySelectorAll('.at')) row.classList.remove('at');
    const row = all[at];
    row.classList.add('at');
    row.scrollIntoView({ block: 'nearest' });
    // A row that leads nowhere takes the focus itself, so that Enter does not open the row before.
    const first = row.querySelector('a, button, input');
    if (!first) row.tabIndex = -1;
    (first ?? row).focus({ preventScroll: true });
  };
  const go = (key) => {
    const link = document.querySelector(`.nav a[data-key="${CSS.escape(key)}"]`);
    if (link) location.href = link.href;
  };
  let isGoing = false;
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input:not([type=checkbox]), textarea, select')) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const { key } = event;
    if (isGoing) go(key);
    isGoing = key === 'g';
    if (key === '/') {
      event.preventDefault();
      document.getElementById('find')?.focus();
    } else if (key === 'j') move(1);
    else if (key === 'k') move(-1);
    else if (key === '?') keys?.showModal();
  });
  for (const button of document.querySelectorAll('[data-keys]')) button.hidden = false;
  document.addEventListener('click', (event) => {
    if (event.target.closest('[data-keys]')) keys?.showModal();
  });

  /** Asks the person's authenticator, then sends the form. What the server does not want to be signed, it refuses with its reason when it is sent. */
  async function sendSigned(form) {
    const fields = form.elements;
    const asked = async (path) => {
      const answer = await fetch(path, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
      return answer.ok ? answer.json() : null;
    };
    try {
      const made = form.dataset.register ? await asked(form.dataset.register) : null;
      if (made) {
        const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(made.publicKey);
        const { id, rawId, type, response } = (await navigator.credentials.create({ publicKey })).toJSON();
        const { clientDataJSON, attestationObject } = response;
        fields.response.value = JSON.stringify({ id, rawId, type, response: { clientDataJSON, attestationObject } });
        fields.nonce.value = made.nonce;
      }
      const ask = form.querySelector('[data-touch]') ? await asked(fields.touch.dataset.touch) : null;
      if (ask) {
        const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(ask.publicKey);
        const { id: passkey, response } = (await navigator.credentials.get({ publicKey })).toJSON();
        const { authenticatorData, clientDataJSON, signature } = response;
        const { kind, nonce } = ask;
        fields.touch.value = JSON.stringify({ kind, nonce, passkey, authenticatorData, clientDataJSON, signature });
      }
      form.submit();
    } catch (error) {
      delete form.dataset.sent;
      const line = form.querySelector('.notice') ?? form.appendChild(document.createElement('div'));
      line.className = 'notice bad';
      line.role = 'alert';
      const isNo = error.name === 'NotAllowedError';
      const why = isNo ? 'it was cancelled, took too long, or this device has no such passkey' : error.message;
      const isAble = globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON;
      line.textContent = isAble
        ? `Nothing was sent, since the passkey was not used (${why}). Try again.`
        : 'Nothing was sent: this browser cannot use passkeys here. Use a newer one.';
    }
  }

  // A form whose button says `data-confirm` asks first, and no form is sent twice.
  document.addEventListener('submit', (event) => {
    const question = event.submitter?.dataset.confirm;
    if (question && !confirm(question)) {
      event.preventDefault();
      return;
    }
    const form = event.target;
    // A passkey signs what is approved, and nothing of another button.
    const isSigned = form.dataset.register || form.querySelector('[data-touch]');
    if (isSigned && form.dataset.sent === undefined && !event.submitter?.hasAttribute('formaction')) {
      event.preventDefault();
      form.dataset.sent = '';
      void sendSigned(form);
      return;
    }
    if (form.dataset.sent !== undefined) event.preventDefault();
    else if (form.method === 'post') form.dataset.sent = '';
  });
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
  });

  // A plan that was carried on while it is read: its rows stay, and show what left or changed.
  const markChanged = () => {
    for (const { dataset } of document.querySelectorAll('#since [data-key]')) {
      const box = document.querySelector(`input[name=target][value="${CSS.escape(dataset.key)}"]`);
      box?.closest('tr')?.classList.add(`row-${dataset.how}`);
    }
  };
  addEventListener('load', markChanged);
  body.addEventListener('htmx:afterSettle', markChanged);

  // The bar of a plan counts what is ticked, and asks for a word where approving so much needs one.
  const countTicks = () => {
    const button = document.querySelector('button[data-of]');
    if (!button) return;
    const ticked = [...document.querySelectorAll('input[data-counts]')].filter(({ checked }) => checked);
    const count = ticked.reduce((sum, { dataset }) => sum + Number(dataset.counts), 0);
    const shown = (number) => Number(number).toLocaleString('en');
    button.textContent = `Approve ${shown(count)} of ${shown(button.dataset.of)}`;
    const ask = document.getElementById('ask');
    if (!ask) return;
    const words = ticked.flatMap(({ dataset: { typed } }) => typed ?? []);
    ask.hidden = words.length === 0 && count <= Number(ask.dataset.large);
    ask.querySelector('b').textContent = count === 1 ? words[0] : String(count);
  };
  addEventListener('pageshow', countTicks);
  body.addEventListener('htmx:afterSettle', countTicks);

  // Ticking a head ticks its rows; not those that a filter hides.
  document.addEventListener('change', (event) => {
    const group = event.target.dataset?.ticks;
    for (const box of document.querySelectorAll(`input[data-ticked-by="${CSS.escape(group ?? '')}"]`))
      if (!box.closest('[hidden]')) box.checked = event.target.checked;
    countTicks();
  });
})();
