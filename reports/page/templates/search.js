// The only script of a report: it looks for words, opens what is folded around a place, and unfolds everything for a printer.
const folds = [...document.querySelectorAll('details')];
const box = document.querySelector('.search'), asked = document.getElementById('search'), found = document.getElementById('found');
const plain = text => text.toLowerCase().replace(/\s+/g, ' ');
const places = [...document.querySelectorAll('main tr, main p, main li, main h2, main caption, main pre')];
const texts = places.map(place => plain(place.textContent));
let hits = [], at = -1;

function open(place) {
  for (let fold = place?.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
}
function look() {
  places.forEach(place => place.classList.remove('hit', 'now'));
  const words = plain(asked.value).trim().split(' ').filter(word => word);
  hits = words.length && words.join('').length > 1 ? places.filter((_, n) => words.every(word => texts[n].includes(word))) : [];
  hits.forEach(place => place.classList.add('hit'));
  at = -1;
  found.textContent = words.length ? `${hits.length} places${hits.length ? ', Enter leads to them' : ''}` : '';
}
function go(step) {
  if (!hits.length) return;
  hits[at]?.classList.remove('now');
  at = (at + step + hits.length) % hits.length;
  open(hits[at]);
  hits[at].classList.add('now');
  hits[at].scrollIntoView({block: 'center'});
  found.textContent = `${at + 1} of ${hits.length} places`;
}
function arrive() {
  const id = location.hash.slice(1);  // ids of figures are percent-encoded themselves
  const place = document.getElementById(id) || document.getElementById(decodeURIComponent(id));
  open(place);
  place?.scrollIntoView();
}
box.hidden = false;
asked.addEventListener('input', look);
asked.addEventListener('keydown', event => { if (event.key === 'Enter') go(event.shiftKey ? -1 : 1); });
addEventListener('hashchange', arrive);
if (location.hash) arrive();

let closed = [];
addEventListener('beforeprint', () => { closed = folds.filter(fold => !fold.open); closed.forEach(fold => { fold.open = true; }); });
addEventListener('afterprint', () => closed.forEach(fold => { fold.open = false; }));
