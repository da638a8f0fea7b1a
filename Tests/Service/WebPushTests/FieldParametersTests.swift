import Testing
import WebPush

/// The parameters of `Authorization`, `Encryption` and `Crypto-Key`.
struct FieldParametersTests {
    private func read(_ text: String) -> [[String]]? {
        FieldParameters(text)?.entries.map { $0.map { "\($0.name)=\($0.value)" } }
    }

    @Test func `Entries are separated by commas, and their parameters by semicolons, with blanks around`() {
        #expect(read("dh=AA") == [["dh=AA"]])
        #expect(read("dh=AA;p256ecdsa=BB") == [["dh=AA", "p256ecdsa=BB"]])
        #expect(read(" keyid = a ; dh = AA ,\tp256ecdsa=BB ") == [["keyid=a", "dh=AA"], ["p256ecdsa=BB"]])
        #expect(read("DH=AA, Dh=BB") == [["dh=AA"], ["dh=BB"]])
    }

    @Test(arguments: ["dh=AA;", "dh=AA,", ",dh=AA", ";dh=AA", "dh=AA ; , ,", ", ;dh=AA"])
    func `There may be nothing between separators`(_ text: String) {
        #expect(read(text) == [["dh=AA"]])
    }

    @Test func `A value may be quoted, and keeps its base64 padding`() {
        #expect(read(#"keyid="p256;dh, x";dh=AA=="#) == [["keyid=p256;dh, x", "dh=AA=="]])
        #expect(read(#"keyid="a\"b""#) == [[#"keyid=a"b"#]])
    }

    @Test(arguments: [
        "", " ", ",", ";", "dh", "dh=", "=AA", "dh=AA;p", "dh=AA BB", "dh=\"AA", "dh=AA;dh=BB", "dh=\"A\\",
        "dh=A\u{e4}",
    ])
    func `Text of another form is not read`(_ text: String) {
        #expect(read(text) == nil)
    }

    @Test func `The number of parameters is limited`() {
        let many = { (count: Int) in (0..<count).map { "a\($0)=x" }.joined(separator: ",") }
        #expect(read(many(FieldParameters.maximumParameters)) != nil)
        #expect(read(many(FieldParameters.maximumParameters + 1)) == nil)
        #expect(read("a=x" + String(repeating: ",", count: FieldParameters.maximumParameters)) == nil)
    }
}
