// web: draws the numbers of a table as lines over time. In: an element that names a table, whose rows have a time and columns of numbers.
// Out: a chart in the colours of the page's theme, and the table closed below it. Without it the table is there, open.
(() => {
  const LINES = [
    { colour: '--accent', dash: [] },
    { colour: '--wait', dash: [6, 4] },
    { colour: '--bad', dash: [2, 3] },
    { colour: '--good', dash: [10, 4, 2, 4] },
  ];
  const HEIGHT = 220;
  const charts = new Map();
  const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
  const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
  const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

  const numbersOf = (table) => {
    const heads = [...table.querySelectorAll('thead th')];
    const columns = heads.flatMap((head, at) => (head.classList.contains('number') ? [at] : []));
    const points = [...table.querySelectorAll('tbody tr')].flatMap((row) => {
      const at = Date.parse(row.querySelector('time')?.dateTime ?? '');
      const counts = columns.map((column) => Number(row.cells[column].textContent.replace(/,/g, '')));
      return Number.isNaN(at) ? [] : [[at / 1000, ...counts]];
    });
    points.sort((one, other) => one[0] - other[0]);
    const data = [0, ...columns.map((_, index) => index + 1)].map((index) => points.map((point) => point[index]));
    return { names: columns.map((column) => heads[column].textContent.trim()), data };
  };

  const draw = (place) => {
    const table = document.getElementById(place.dataset.chart);
    if (!table) return;
    const { names, data } = numbersOf(table);
    if (data[0].length < 2) return;
    charts.get(place)?.destroy();
    place.hidden = false;
    const style = getComputedStyle(place);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: colour('--quiet'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { stroke: colour('--line'), width: 1 },
    };
    const isShort = data[0].at(-1) - data[0][0] < 2 * 86_400;
    const series = names.map((label, index) => {
      const line = LINES[index % LINES.length];
      return { label, stroke: colour(line.colour), dash: line.dash, width: 2, points: { show: data[0].length < 60 } };
    });
    const options = {
      width: place.clientWidth,
      height: HEIGHT,
      series: [{ label: 'Run', value: (_, at) => (at === null ? '' : whole.format(at * 1000)) }, ...series],
      axes: [
        {
          ...axis,
          space: 80,
          values: (_, splits) => splits.map((at) => (isShort ? time : day).format(at * 1000)),
        },
        { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6] },
      ],
      scales: { y: { range: (_, _least, most) => [0, Math.max(1, most) * 1.05] } },
    };
    charts.set(place, new uPlot(options, data, place));
    const rest = table.closest('details');
    if (rest && place.dataset.drawn === undefined) rest.open = false;
    place.dataset.drawn = '';
  };

  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const chart = charts.get(target);
      if (chart && target.clientWidth > 0 && chart.width !== target.clientWidth)
        chart.setSize({ width: target.clientWidth, height: HEIGHT });
    }
  });
  const drawIn = (root) => {
    for (const place of root.querySelectorAll('[data-chart]:not([data-drawn])')) {
      draw(place);
      sizes.observe(place);
    }
  };
  drawIn(document);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const place of charts.keys()) if (place.isConnected) draw(place);
  });
  document.addEventListener('htmx:load', (event) => {
    for (const [place, chart] of charts) {
      if (place.isConnected) continue;
      chart.destroy();
      charts.delete(place);
    }
    drawIn(event.target);
  });
})();
