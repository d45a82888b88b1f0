"""text2tashkeel: vowel marks of Arabic text, by each model of the package; they are quantised to eight bits."""
NEEDS = ("text2tashkeel",)
TEXTS = ("بسم الله الرحمن الرحيم", "ذهب الولد إلى المدرسة في الصباح", "اللغة العربية جميلة", "كتب الطالب الدرس ثم خرج إلى الحديقة")


def results():
    import text2tashkeel
    return {name: [text2tashkeel.diacritize(text, name) for text in TEXTS] for name in text2tashkeel.BUNDLED}
