r"""Any PyMC model's censored pseudo-posterior: every record's log-likelihood clipped.

With prior pi(theta), records r_1, ..., r_n and l(theta; r) a record's log-likelihood, summed over
the observed variables and over all axes but the records', the new model's density is

    q(theta | r_1, ..., r_n) proportional to pi(theta) exp(sum_i f_i(theta)),
    f_i(theta) = clip(w_i l(theta; r_i), [lower, upper])

(Hu, Williams and Savitsky). A term that is NaN is taken as `lower`.

One draw of theta from q is epsilon-DP
--------------------------------------
*Add/remove-one*, epsilon = upper - lower. Let D' be D and one record more, with term f. Then

    q(theta | D') / q(theta | D) = exp(f(theta)) / E_q(.|D) exp(f).

Numerator and denominator both lie in [exp(lower), exp(upper)], so the ratio and its inverse are
at most exp(upper - lower). *Replace-one*, epsilon = 2 (upper - lower): the term f becomes g, and
exp(g - f) and its mean both lie in [exp(lower - upper), exp(upper - lower)]. Only the width counts,
a constant cancels. All that is needed of the terms is that each is a function of its own record
and theta with values in [lower, upper], and of the prior that it is proper and public.

What is a record, and what is public
------------------------------------
A record is its entries, along the records' axis, of the observed variables and of every `pm.Data`
and constant as long as the records: its covariates and its group's index are its own, and are
protected with its answers. Neighbours add, remove or replace one such record, in whatever group.
Everything else in the model is public and must have been chosen without the data: other
numbers and constants, the priors, the names and number of the groups (one may be empty), and with
a name for the records' dimension, `pm.Data` whose dimension has another name. Where a group is what
should be protected, make groups the records' axis. Under add/remove-one the model must be the one
that would be written for any number of records; under replace-one that number is public, and a
record may have parameters of its own.
"""
