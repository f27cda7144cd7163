"""Privacy guarantees: neighbouring relations, composition, audits and the ledger."""
