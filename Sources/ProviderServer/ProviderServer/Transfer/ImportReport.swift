import HTTPAPI

/// What an import has stored, and which lines it could not read.
struct ImportReport: Sendable {
    struct BadLine: Sendable {
        /// The number of the line, from 1.
        let line: Int
        let detail: String
        let pointer: String?

        static let form: JSONForm<BadLine> = JSONForm.object(
            nil, BadLine.init(line:detail:pointer:),
            .required("line", .integer(), \.line),
            .required("detail", .text(.any), \.detail),
            .optional("pointer", .text(.any), \.pointer))
    }

    var imported = 0
    var bad = 0
    var badLines: [BadLine] = []

    static let form: JSONForm<ImportReport> = JSONForm.object(
        "ImportReport", ImportReport.init(imported:bad:badLines:),
        .required("imported", .integer(), \.imported),
        .required("bad", .integer(), \.bad),
        .required("badLines", .list(of: BadLine.form), \.badLines, "The first \(APILimits.listItems)."))
}
