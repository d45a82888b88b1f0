/* Handwritten digits, 8 x 8 shades from 0 to 1, for programs in C and C++. */
#ifndef DIGIT_H
#define DIGIT_H

enum { kPixels = 64, kClasses = 10 };

/* Writes a two with its rows moved down by `down`, so that pictures differ. */
static inline void draw_two(float* image, int down) {
  static const unsigned char two[kPixels] = {
      0, 0, 6, 16, 12, 1,  0,  0,  /**/
      0, 0, 5, 16, 13, 10, 0,  0,  /**/
      0, 0, 0, 5,  5,  15, 0,  0,  /**/
      0, 0, 0, 0,  8,  15, 0,  0,  /**/
      0, 0, 0, 0,  13, 13, 0,  0,  /**/
      0, 0, 0, 6,  16, 9,  4,  1,  /**/
      0, 0, 3, 16, 16, 16, 16, 10, /**/
      0, 0, 5, 16, 11, 9,  6,  2,
  };
  for (int i = 0; i < kPixels; ++i) image[i] = (float)two[(i + kPixels - 8 * down) % kPixels] / 16;
}

/* The class with the highest probability. */
static inline int best_of(const float* probabilities) {
  int best = 0;
  for (int i = 1; i < kClasses; ++i)
    if (probabilities[i] > probabilities[best]) best = i;
  return best;
}

#endif
