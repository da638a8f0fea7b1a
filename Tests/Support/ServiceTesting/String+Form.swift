extension String {
    /// Whether the text is a UUID in the Guide's canonical form, with lower-case digits (Table 8-2).
    var isCanonicalUUID: Bool {
        wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/) != nil
    }

    /// Whether the text has the form of team IDs and key IDs.
    var isAccountID: Bool { wholeMatch(of: /[A-Z0-9]{10}/) != nil }
}
