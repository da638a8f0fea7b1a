/// Stores a list of words in one column.
package enum WordColumn {
    /// Each word has a space on both sides, so that a search for ` news ` finds only this tag.
    package static func text(_ words: [String]) -> String {
        words.isEmpty ? "" : " " + words.joined(separator: " ") + " "
    }

    package static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}
