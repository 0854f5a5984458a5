"""How a biography looks on a page: black on white and the other way round, on paper as well."""

STYLE = """\
:root { color-scheme: light dark; --line: #d8dbe0; --soft: #667080; --card: #f6f7f9; }
@media (prefers-color-scheme: dark) { :root { --line: #3a3f47; --soft: #9aa4b2; --card: #22262c; } }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0; } h1 small { color: var(--soft); font-weight: normal; }
h2 { margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.2rem 0 .4rem; color: var(--soft); }
.line { margin: .2rem 0 1rem; font-size: 1.1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; }
article { margin: .5rem 0; padding: .6rem .9rem; background: var(--card); border-radius: .5rem;
  break-inside: avoid; }
article p { margin: 0; } .when i, .times i { color: var(--soft); font-style: normal; }
.where::before { content: "Where: "; color: var(--soft); }
.event::before { content: "What happened: "; color: var(--soft); }
.told { color: var(--soft); font-size: .9rem; }
.crops { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .5rem; }
.crops img { height: 6rem; max-width: 100%; object-fit: contain; border-radius: .3rem; }
.crops img.whole { height: 9rem; }
.gone { max-width: 14rem; padding: .6rem; border: 1px dashed var(--line); border-radius: .3rem;
  color: var(--soft); font-size: .85rem; }
.times { columns: 14rem; padding-left: 1.2rem; }
@media print { main { max-width: none; padding: 0; } }
"""
