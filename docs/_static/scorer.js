/* The order of what the site's search finds: Sphinx's, but of pages that only name a word the guide and the API come first,
   and the changelog, which names nearly all words, last. */
var Scorer = {
  score: ([page, , place, , score]) =>
    score + (page === "generated/changelog" ? -4 : !place && /^(api|tutorials)\/|^[^/]+$/.test(page) ? 1 : 0),
  // The rest is as Sphinx has it.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
