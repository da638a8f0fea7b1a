import HTTPAPI
import Notifications

/// The text by which people recognise a message in a list.
enum MessageTitle {
    /// The largest document from which a title is read, in bytes. A list has up to 1,000 messages, and one with
    /// 10,000 named recipients has 500,000 bytes.
    private static let maximumBytes = 16_384

    /// Returns the title or the body of the alert, in the message's fallback language; nil if there is none.
    static func text(of document: [UInt8]) -> String? {
        guard document.count <= maximumBytes,
            let value = JSONValue(document, maximumDepth: APILimits.documentDepth),
            let alert = value.members["payload"]?.members["aps"]?.members["alert"]
        else { return nil }
        let texts = value.members["fallbackLanguage"]?.string.flatMap { value.members["texts"]?.members[$0] }
        for text in [alert.string, alert.members["title"]?.string, alert.members["body"]?.string] {
            guard let text, !text.isEmpty, let template = try? TemplateText(text) else { continue }
            return template.preview { texts?.members[$0]?.string }
        }
        return nil
    }
}

extension TemplateText {
    /// The text with the names replaced that have a value. Names without one stay as they are written.
    fileprivate func preview(_ value: (String) -> String?) -> String {
        parts.map { part in
            switch part {
            case .text(let fixed): fixed
            case .value(let name): value(name) ?? "{{\(name)}}"
            }
        }.joined()
    }
}
