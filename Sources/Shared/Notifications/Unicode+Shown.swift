extension Unicode.Scalar {
    /// Whether a provider's text must not show this character: a control character, a separator of lines, or one that
    /// embeds or overrides the direction of the text around it (Unicode Standard Annex 9), with which a text can look like
    /// another one. The marks U+200E, U+200F and U+061C only order a text, and stay.
    package var isUnsafeToShow: Bool {
        switch value {
        case 0x202a...0x202e, 0x2066...0x2069, 0x2028, 0x2029: true
        default: properties.generalCategory == .control
        }
    }
}

extension String {
    /// Whether it has a control character: one that a terminal obeys, and that no name needs.
    package var hasControlCharacters: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
