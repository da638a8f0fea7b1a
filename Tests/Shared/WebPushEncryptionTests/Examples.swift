/// The example of RFC 8291, appendix A.
enum RFC8291Example {
    static let text = "When I grow up, I want to be a watermelon"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    static let publicKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let senderKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
    static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
    static let body =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
}

/// The draft's example of `aesgcm` (draft-ietf-webpush-encryption-04, 5).
enum DraftExample {
    static let text = "I am the walrus"
    static let auth = "R29vIGdvbyBnJyBqb29iIQ"
    static let privateKey = "9FWl15_QUQAWDaD3k3l50ZBZQJ4au27F1V4F0uLSD_M"
    static let dh = "BNoRDbb84JGm8g5Z5CFxurSqsXWJ11ItfXEWYVLE85Y7CYkDjXsIEc4aqxYaQ1G8BqkXCJ6DPpDrWtdWj_mugHU"
    static let salt = "lngarbyKfMoi9Z75xYXmkg"
    static let body = "6nqAQUME8hNqw5J3kl8cpVVJylXKYqZOeseZG8UueKpA"
}
