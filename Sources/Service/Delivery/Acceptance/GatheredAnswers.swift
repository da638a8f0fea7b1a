/// Answers to many submissions, grouped so that each connection of a provider gets its answers in one call.
struct GatheredAnswers {
    private var groups: [Group] = []
    private var places: [ObjectIdentifier: Int] = [:]

    private struct Group {
        let receiver: any SubmissionAnswers
        var answers: [SubmissionAnswer]
    }

    mutating func append(_ answer: SubmissionAnswer, for receiver: any SubmissionAnswers) {
        // Notifications that are stored together often come from the same connection, so check the last group first.
        if let last = groups.indices.last, groups[last].receiver === receiver {
            return groups[last].answers.append(answer)
        }
        if let place = places[ObjectIdentifier(receiver)] { return groups[place].answers.append(answer) }
        places[ObjectIdentifier(receiver)] = groups.count
        groups.append(Group(receiver: receiver, answers: [answer]))
    }

    /// Gives each connection its answers, in the order in which they were added.
    consuming func give() {
        for group in groups { group.receiver.answer(group.answers) }
    }
}
